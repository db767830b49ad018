  if kind == 'w' or kind == 'a' then
    v[i] = math.max(0, v[i] - cost)
    if v[i] == 0 and u[i] > now then
      -- Of the window before it is not known what was taken: all, as of each that lies before a reserved one.
      u[i], v[i] = math.max(0, u[i] - second), first
    end
  end
