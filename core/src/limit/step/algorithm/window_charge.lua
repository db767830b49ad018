  if kind == 'w' or kind == 'a' then
    if v == 0 or at >= u + second then
      u, v = at, 0
      if kind == 'a' then
        u = at - at % second
      end
    end
    v = v + cost
  end
