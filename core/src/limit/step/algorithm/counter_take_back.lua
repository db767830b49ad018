  if kind == 'c' then
    local rest = math.max(0, cost - w)
    w, v = math.max(0, w - cost), math.max(0, v - rest)
  end
