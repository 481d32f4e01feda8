class Broken:
    def __repr__(self):
        raise ValueError("no repr")

    @property
    def __dict__(self):
        raise ValueError("no dict")


class Told:
    def __debuginfo__(self):
        return {"state": "open", "depth": 2}


[Broken(), Told()]
