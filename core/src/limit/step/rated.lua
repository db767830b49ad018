  if due > at then
    at, which = due, i
  end
  if held then
    held[i] = { u, v, w, x, y, z, b, moved }
  end
end
