def leap(year):
    return year % 4 == 0
