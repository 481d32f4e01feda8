print("kept")
while True:
    pass
