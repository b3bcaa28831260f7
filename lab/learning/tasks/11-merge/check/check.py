from merge import merge

a = {1: 1}
assert merge(a, {2: 2}) == {1: 1, 2: 2}
assert a == {1: 1}
