  if kind == 'c' then
    local rest = math.max(0, cost - w)
    w, v = math.max(0, w - cost), math.max(0, v - rest)
    if w == 0 and u > now then
      -- The window before is the last one, and the one before that counts as full: nothing is known of it.
      u, v, w = math.max(0, u - second), first, v
    end
  end
