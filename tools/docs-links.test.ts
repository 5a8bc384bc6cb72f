import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The walkthrough and its translations. */
const walkthroughs = ['docs/walkthrough.md', 'docs/walkthrough.zh-CN.md']

/** The files that the repository contains, by path. */
interface Tree {
  readonly paths: ReadonlySet<string>
  readonly read: (path: string) => string
}

interface Link {
  /** Path and anchor as written, decoded. */
  readonly target: string
  /** The text after the link. */
  readonly rest: string
  readonly line: number
}

test('links in the documentation point to files, headings and symbols that exist', () => {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  const paths = listed.split('\0').filter(path => path !== '' && existsSync(join(root, path)))
  const tree = { paths: new Set(paths), read: (path: string) => readFileSync(join(root, path), 'utf8') }
  const documents = paths.filter(path => /^(?:docs\/.*|README[^/]*|CONTRIBUTING)\.md$/.test(path))
  for (const page of walkthroughs) assert.ok(documents.includes(page), page)
  assert.deepEqual(
    documents.flatMap(path => brokenLinks(path, tree)),
    [],
  )
})

test('a translated walkthrough links to the same files and symbols', () => {
  const [original, ...translations] = walkthroughs.map(page => symbolLinksIn(page))
  for (const translation of translations) assert.deepEqual(translation, original)
})

/** `path symbol` of the links to code, sorted, since a sentence may have another order in another language. */
function symbolLinksIn(page: string): readonly string[] {
  return linksIn(readFileSync(join(root, page), 'utf8'))
    .filter(({ target }) => target.endsWith('.ts'))
    .map(({ target, rest }) => `${target} ${symbolAfter(rest)}`)
    .toSorted()
}

/** Checks that a page causes exactly these findings. */
function check(page: string, text: string, ...expected: readonly string[]): void {
  const files = new Map(Object.entries({ ...fixture, [page]: text }))
  const tree = { paths: new Set(files.keys()), read: (path: string) => files.get(path)! }
  assert.deepEqual(brokenLinks(page, tree), expected)
}

const fixture = {
  'docs/flags.md': '# Flags\n\n## The `--port` flag\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n',
  'src/store.ts': `import { other } from './other.ts'

export class Store {
  readonly #size = 0

  async get(): Promise<void> {
    other()
  }
}

function open() {
  close()
}
`,
}

test('a link to a missing file or heading is found', () => {
  check('docs/page.md', '[a](flags.md) [b](../src/store.ts) [c](../src/) [d](https://example.com/none.md)')
  check('README.md', '[a](docs/flags.md#the---port-flag) [b](docs/flags.md#twice-1) [c](#readme)\n# Readme')
  check('README.md', '[a](none.md)', 'README.md:1: none.md does not exist')
  check('docs/page.md', '\n[a](docs/flags.md)', 'docs/page.md:2: docs/flags.md does not exist')
  check('docs/page.md', '[a](flags.md#none)', 'docs/page.md:1: docs/flags.md has no heading #none')
  check(
    'docs/page.md',
    '[a](flags.md#no-heading)',
    'docs/page.md:1: docs/flags.md has no heading #no-heading',
  )
  check('docs/page.md', '[a](../../none.md)', 'docs/page.md:1: ../../none.md does not exist')
  check('docs/page.md', '[a]\n\n[a]: none.md', 'docs/page.md:3: none.md does not exist')
  check('docs/page.md', '`[a](none.md)`\n\n```md\n[a](none.md)\n```')
})

test('a walkthrough names a symbol that the linked file declares', () => {
  const link = '[src/store.ts](../src/store.ts)'
  check(
    'docs/walkthrough.md',
    `${link} \`Store\` ${link}\n\`open\` ${link} \`Store.get\` ${link} \`Store.#size\``,
  )
  check('docs/walkthrough.md', link, 'docs/walkthrough.md:1: no symbol after the link to src/store.ts')
  for (const symbol of ['Storage', 'other', 'get', 'close', 'Store.other', 'Store.open', 'open.close']) {
    const text = `docs/walkthrough-pod.md:1: src/store.ts does not declare ${symbol}`
    check('docs/walkthrough-pod.md', `${link} \`${symbol}\``, text)
  }
  check('docs/page.md', link)
})

function brokenLinks(page: string, tree: Tree): readonly string[] {
  const isWalkthrough = posix.basename(page).startsWith('walkthrough')
  return linksIn(tree.read(page)).flatMap(link => {
    const problem =
      problemOf(link, page, tree) ?? (isWalkthrough ? symbolProblem(link, page, tree) : undefined)
    return problem === undefined ? [] : [`${page}:${link.line}: ${problem}`]
  })
}

/** Relative links; those of other sites are not checked. */
function linksIn(text: string): readonly Link[] {
  const matches = [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)|^\[[^\]]+\]: +(\S+)/gm)]
  return matches.flatMap(match => {
    const [whole, inline, reference] = match
    const target = decodeURIComponent(inline ?? reference ?? '')
    if (/^[a-z]+:/.test(target)) return []
    const line = text.slice(0, match.index).split('\n').length
    return [{ target, line, rest: text.slice(match.index + whole.length) }]
  })
}

/** Replaces code by spaces, so that all positions stay the same. */
function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```|`[^`\n]*`/gms, code => code.replaceAll(/[^\n]/g, ' '))
}

function problemOf({ target }: Link, page: string, { paths, read }: Tree): string | undefined {
  const [file = '', anchor] = target.split('#')
  const path = pathOf(file, page)
  const isFolder = [...paths].some(each => each.startsWith(path.endsWith('/') ? path : `${path}/`))
  if (!paths.has(path) && !isFolder) return `${file} does not exist`
  if (anchor === undefined || !path.endsWith('.md') || anchorsOf(read(path)).has(anchor)) return undefined
  return `${path} has no heading #${anchor}`
}

function symbolProblem({ target, rest }: Link, page: string, { read }: Tree): string | undefined {
  const path = pathOf(target, page)
  if (!path.endsWith('.ts')) return undefined
  const symbol = symbolAfter(rest)
  if (symbol === undefined) return `no symbol after the link to ${path}`
  return declares(read(path), symbol) ? undefined : `${path} does not declare ${symbol}`
}

function symbolAfter(rest: string): string | undefined {
  return /^(?: +|\n *)`([\w$.#]+)`/.exec(rest)?.[1]
}

function pathOf(file: string, page: string): string {
  return file === '' ? page : posix.join(posix.dirname(page), file)
}

/** Anchors of the headings, as GitHub generates them. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of markdown.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ +(.*)$/gm)) {
    const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    const anchor = words.trim().replaceAll(' ', '-')
    let number = 0
    while (anchors.has(number === 0 ? anchor : `${anchor}-${number}`)) number++
    anchors.add(number === 0 ? anchor : `${anchor}-${number}`)
  }
  return anchors
}

/** The symbol is a declaration at the top level, or `Type.member` for a member of one. */
function declares(source: string, symbol: string): boolean {
  const [name = '', member] = symbol.split('.')
  const modifiers = '(?:export |default |declare |abstract |async )*'
  const start = new RegExp(`^${modifiers}(?:function\\*?|class|interface|type|const|let) ${name}\\b`, 'm')
  const at = source.search(start)
  if (at === -1 || member === undefined) return at !== -1
  const body = source.slice(at, source.indexOf('\n}', at))
  if (!/^(?:export )?(?:abstract )?(?:class|interface|const)/.test(body)) return false
  return new RegExp(
    `^  (?:(?:static|async|override|protected|readonly|get|set) |\\*)*${member}[(<:?!= ]`,
    'm',
  ).test(body)
}
