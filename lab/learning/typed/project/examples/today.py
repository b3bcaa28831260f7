"""Print today's heights."""

from ebb.heights import height

for hour in range(7):
    print(hour, height(1.2, 6.8, hour))
