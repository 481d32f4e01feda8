class Refused(Exception):
    pass


def load(name):
    try:
        return {}[name]
    except KeyError as error:
        raise Refused(f"no setting {name}") from error


try:
    load("port")
except Refused:
    raise RuntimeError("cannot start")
