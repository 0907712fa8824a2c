from calibrant.intervals.methods import interval as interval
