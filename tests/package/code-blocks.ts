/** The files in a page of documentation: blocks of TypeScript whose first line is a comment with a name. */
export function codeBlocks(page: string): ReadonlyMap<string, string> {
  const blocks = new Map<string, string>()
  for (const [, name = '', code = ''] of page.matchAll(/^```ts\n\/\/ (\S+\.ts)\n([^]*?)^```$/gm)) {
    if (blocks.has(name)) throw new Error(`two blocks are called ${name}`)
    blocks.set(name, code)
  }
  return blocks
}
