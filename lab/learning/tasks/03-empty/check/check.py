from mean import mean

assert mean([]) == 0
assert mean([1, 3]) == 2
