  if kind == 'w' or kind == 'a' then
    local rest = math.max(0, cost - v)
    v = math.max(0, v - cost)
    if v == 0 and u > now then
      -- The window before a reserved one counts as full: that something did not fit is all that is known of it.
      u, v = math.max(0, u - second), math.max(0, first - rest)
    end
  end
