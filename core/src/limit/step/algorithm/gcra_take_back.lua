  if kind == 'g' then
    local us, part = u - second, v - tonumber(ARGV[i * 6])
    if part < 0 then
      us, part = us - 1, part + first
    end
    if us < now then
      us, part = now, 0
    end
    u, v = us, part
  end
