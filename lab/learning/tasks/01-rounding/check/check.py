from prices import total

assert total([1.25, 2.5]) == 3.75
