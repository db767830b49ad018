  if kind == 'g' then
    local us, part = u[i] - second, v[i] - tonumber(ARGV[i * 6])
    if part < 0 then
      us, part = us - 1, part + first
    end
    if us < now then
      us, part = now, 0
    end
    u[i], v[i] = us, part
  end
