from lines import lines

assert lines("a\r\nb") == ["a", "b"]
