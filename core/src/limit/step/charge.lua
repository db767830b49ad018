  local write = moved and cost > 0
  added = false
  local before_u, before_v, before_w = u, v, w
  if granted and cost > 0 then
    write = true
