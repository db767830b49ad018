//! The access rules that the documentation has for each kind of object.

/// The rules that docs/operations.md has for objects of this kind, for this name.
pub fn documented(kind: &str, name: &str) -> Vec<String> {
    let page = include_str!("../../../docs/operations.md");
    let (_, block) = page.split_once("<api:access-of-each>").expect("the page shows the rules of each");
    let (_, block) = block.split_once("```text\n").expect("in a block");
    let mut rules = Vec::new();
    let mut is_of_it = false;
    for line in block.lines().take_while(|line| *line != "```") {
        match line.strip_prefix("  ") {
            None => is_of_it = ["every client", kind].contains(&line),
            Some(line) if is_of_it => rules.extend(line.split(' ').map(|rule| rule.replace("<names>", name))),
            Some(_) => {}
        }
    }
    rules
}
