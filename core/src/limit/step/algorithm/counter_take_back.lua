  if kind == 'c' then
    local rest = math.max(0, cost - w[i])
    w[i], v[i] = math.max(0, w[i] - cost), math.max(0, v[i] - rest)
  end
