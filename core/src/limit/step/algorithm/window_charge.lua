  if kind == 'w' or kind == 'a' then
    if v[i] == 0 or at >= u[i] + second then
      u[i], v[i] = at, 0
      if kind == 'a' then
        u[i] = at - at % second
      end
    end
    v[i] = v[i] + cost
  end
