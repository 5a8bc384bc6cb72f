/** The files in a documentation page: TypeScript blocks with a name in a comment on the first line. */
export function codeBlocks(page: string): ReadonlyMap<string, string> {
  const blocks = new Map<string, string>()
  for (const [, name = '', code = ''] of page.matchAll(/^```ts\n\/\/ (\S+\.ts)\n([^]*?)^```$/gm)) {
    if (blocks.has(name)) throw new Error(`two blocks are called ${name}`)
    blocks.set(name, code)
  }
  return blocks
}
