def lines(text):
    return text.split("\n")
