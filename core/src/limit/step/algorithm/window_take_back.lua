  if kind == 'w' or kind == 'a' then
    v = math.max(0, v - cost)
    if v == 0 and u > now then
      -- Of the window before it is not known what was taken: all, as of each that lies before a reserved one.
      u, v = math.max(0, u - second), first
    end
  end
