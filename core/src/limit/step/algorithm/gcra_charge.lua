  if kind == 'g' then
    local unit = first
    local us, part = u, v
    -- Another rate, or a block, says later: until then the bucket fills.
    if at > us + (part > 0 and 1 or 0) then
      us, part = at, 0
    end
    us, part = us + second, part + tonumber(ARGV[i * 6])
    if part >= unit then
      us, part = us + 1, part - unit
    end
    u, v = us, part
  end
