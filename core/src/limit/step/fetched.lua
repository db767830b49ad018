end
return { granted and 1 or 0, unix, from_us, from_part, u, v }
