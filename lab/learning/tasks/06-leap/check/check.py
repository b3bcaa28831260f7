from leap import leap

assert leap(2000)
assert not leap(1900)
