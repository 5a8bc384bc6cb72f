import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blankOut } from './tidy/blank-out.ts'
import { checkTree } from './tidy/check-tree.ts'
import { machineOf, type Machine } from './tidy/machine.ts'
import { sourceFile } from './tidy/source-file.ts'
import { checkFolders, checkTinyFiles } from './tidy/structure.ts'

const machine: Machine = { folders: ['/opt/builds/'], hosts: ['packages.corp.example'] }

const usesAssert = `import assert from 'node:assert/strict'`

/** A tree without findings, to which each case adds or replaces files. */
const tidy: Readonly<Record<string, string>> = {
  'package-lock.json': '{ "resolved": "https://registry.npmjs.org/yaml/-/yaml-2.tgz" }\n',
  'src/main.ts': `/** Starts. */\nimport { run } from '#/scheduler/scheduler.ts'\n\nrun()\n`,
  'src/base/heap.ts': '/** A heap. */\nexport const heap = 1\n',
  'src/base/heap.test.ts': `${usesAssert}\nimport { heap } from './heap.ts'\n\nassert.ok(heap)\n`,
  'src/platform/platform.ts': '/** The machine. */\nexport interface Random { fraction: number }\n',
  'src/api/names.ts': `/** . */\nimport type { Random } from '#/platform/platform.ts'\nexport type Name = Random\n`,
  'src/store/store.ts': `/** A store. */\nimport { log } from './embedded/log.ts'\n\nexport const store = log\n`,
  'src/store/embedded/log.ts': `import { heap } from '#/base/heap.ts'\n\nexport const log = heap\n`,
  'src/apiserver/server.ts': `/** . */\nimport { store } from '#/store/store.ts'\nexport const server = store\n`,
  'src/scheduler/scheduler.ts': `/** . */\nimport { name } from '#/api/names.ts'\nexport const run = () => name\n`,
  'src/scheduler/scheduler.test.ts': `${usesAssert}\nimport '#/apiserver/server.ts'\nassert.ok(1)\n`,
  'tests/whole.test.ts': `${usesAssert}\nimport '#/api/names.ts'\nimport '#/store/store.ts'\nassert.ok(1)\n`,
  'tests/machine.test.ts': `${usesAssert}\nimport '#/platform/platform.ts'\nassert.ok(1)\n`,
}

function findings(changes: Readonly<Record<string, string>>): string[] {
  const tree = new Map(Object.entries({ ...tidy, ...changes }))
  return checkTree(tree, machine)
    .filter(({ text }) => !structural.test(text))
    .map(({ path, line, text }) => `${path}:${line}: ${text}`)
}

/** Findings about small trees such as the one above; `checkStructure` is for them. */
const structural = /at least two files$|import these few lines|imports these few lines/

/** Checks that a change of the tree causes exactly these findings. */
function check(changes: Readonly<Record<string, string>>, ...expected: readonly string[]): void {
  const found = findings(changes)
  assert.equal(found.length, expected.length, found.join('\n'))
  expected.forEach((text, index) =>
    assert.ok(found[index]?.startsWith(text), `${found[index]} is not ${text}`),
  )
}

/** A file that is imported, so that only the intended finding is reported. */
function used(path: string, content: string): Record<string, string> {
  return { [path]: content, 'tools/user.ts': `import '#/${path.slice('src/'.length)}'\n` }
}

const lines = (count: number, text = '  x()') => `${Array.from({ length: count }, () => text).join('\n')}\n`

test('a tidy tree has no findings', () => {
  check({})
})

test('layers: dependencies point down only', () => {
  const scheduler = (line: string) => ({
    'src/scheduler/scheduler.ts': `/** . */\n${line}\nexport const run = 1\n`,
  })
  const named = (line: string) => ({ 'src/api/names.ts': `/** . */\n${line}\nexport type Draw = 1\n` })
  const refused = 'src/scheduler/scheduler.ts:2: scheduler must not import'
  check(scheduler(`import { store } from '#/store/store.ts'`), `${refused} store`)
  check(scheduler(`export { server } from '#/apiserver/server.ts'`), `${refused} apiserver`)
  check(scheduler(`const late = import('#/store/store.ts')`), `${refused} store`)
  check(scheduler(`import '#/main.ts'`), `${refused} src/main.ts`)
  check(scheduler(`// import { store } from '#/store/store.ts'`))
  check(
    named(`import { random } from '#/platform/platform.ts'`),
    'src/api/names.ts:2: api must not import platform',
  )
  check(
    named(`import {\n  store,\n} from '#/store/store.ts'`),
    'src/api/names.ts:4: api must not import store',
  )
  check(
    used('src/zoo/lion.ts', '/** . */\nexport const lion = 1\n'),
    'src/zoo/lion.ts:1: component zoo has no layer',
  )
})

test('files with JSX have the same rules', () => {
  const page = (content: string) => ({
    'src/console-page/main.tsx': `/** . */\nimport './view.tsx'\n`,
    'src/console-page/view.tsx': `/** . */\n${content}\n`,
  })
  check(page(`export const view = <p>{'a'}</p>`))
  check(
    page(`import { store } from '#/store/store.ts'\nexport const view = <p>{store}</p>`),
    'src/console-page/view.tsx:2: console-page must not import store',
  )
  check(page(`import './other'`), 'src/console-page/view.tsx:2: import ./other does not end')
  check(page('export function ViewHelper() {}'), 'src/console-page/view.tsx:2: ViewHelper')
  check(
    { ...page(''), 'src/console-page/Lists.tsx': '/** . */\n' },
    'src/console-page/Lists.tsx:1: nothing imports',
    'src/console-page/Lists.tsx:1: names of files',
  )
  const long = `export function View() {\n${lines(71, '  <b>{x} / {y}</b>')}}`
  check(page(long), 'src/console-page/view.tsx:2: 73 lines')
})

test('a private folder is imported from its parent folder only, a public one from everywhere', () => {
  const log = `import { log } from '#/store/embedded/log.ts'`
  check(
    { 'src/apiserver/server.ts': `/** . */\n${log}\nexport const server = log\n` },
    'src/apiserver/server.ts:2: src/store/embedded/log.ts is private to src/store',
  )
  check(
    { 'tests/log.test.ts': `${usesAssert}\n${log}\nassert(log)\n` },
    'tests/log.test.ts:2: src/store/embedded/log.ts is private to src/store',
  )
  const deep = { 'src/store/embedded/deep/file.ts': 'export const file = 1\n' }
  check({ ...deep, ...used('src/store/embedded.ts', `/** . */\nimport './embedded/deep/file.ts'\n`) })
  check(
    { ...deep, ...used('src/store/other.ts', `/** . */\nimport './embedded/deep/file.ts'\n`) },
    'src/store/other.ts:2: src/store/embedded/deep/file.ts is private to src/store/embedded',
  )
  const kinds = { 'src/api/kinds/core/defaults.ts': 'export const defaults = 1\n' }
  check(
    { ...kinds, ...used('src/api/scheme.ts', `/** . */\nimport './kinds/core/defaults.ts'\n`) },
    'src/api/scheme.ts:2: src/api/kinds/core/defaults.ts is private to src/api/kinds',
  )
  check({
    ...kinds,
    ...used('src/api/kinds/rules.ts', `import './core/defaults.ts'\n`),
    'tools/user.ts': `import '#/api/scheme.ts'\n`,
    'src/api/scheme.ts': `/** . */\nimport './kinds/rules.ts'\n`,
  })
  check(used('src/api/text/json.ts', '/** . */\nexport const json = 1\n'))
  check({
    ...kinds,
    'tools/generate-api.ts': `import '#/api/kinds/core/defaults.ts'\nimport '#/api/generated/a.ts'\n`,
  })
  check(
    { ...kinds, 'tools/other.ts': `import '#/api/kinds/core/defaults.ts'\nimport '#/api/generated/a.ts'\n` },
    'tools/other.ts:1: src/api/kinds/core/defaults.ts is private to src/api/kinds',
  )
})

test('./ stays inside a component, #/ leaves it', () => {
  check(
    { 'src/store/embedded/log.ts': `import '#/store/store.ts'\nexport const log = 1\n` },
    'src/store/embedded/log.ts:1: import #/store/store.ts stays inside',
  )
  check(
    { 'src/store/embedded/log.ts': `import '../../base/heap.ts'\nexport const log = 1\n` },
    'src/store/embedded/log.ts:1: import ../../base/heap.ts leaves',
  )
  check(
    { 'tools/user.ts': `import '../src/base/heap.ts'\n` },
    'tools/user.ts:1: import ../src/base/heap.ts leaves',
  )
})

test('imports end with .ts', () => {
  check(
    { 'src/base/heap.test.ts': `${usesAssert}\nimport './heap'\nimport './heap.ts'\nassert(1)\n` },
    'src/base/heap.test.ts:2: import ./heap does not end with .ts',
  )
})

test('a file that nothing imports is dead; a worker is used by its URL', () => {
  const worker = { 'src/store/embedded/worker.ts': 'run()\n' }
  const starting = (path: string) => {
    return { 'src/store/embedded/log.ts': `export const log = new URL('${path}', import.meta.url)\n` }
  }
  check(worker, 'src/store/embedded/worker.ts:1: nothing imports this file')
  check({ ...worker, ...starting('./worker.ts') })
  check({ ...worker, ...starting('worker.ts') })
})

test('a file that only passes on is no file', () => {
  const barrel = `/** . */\nimport type { A } from './a.ts'\nexport { b } from './b.ts'\nexport type * from './c.ts'\n`
  check(used('src/base/index.ts', barrel), 'src/base/index.ts:1: only exports')
  check(used('src/base/index.ts', `${barrel}export const own = 1\n`))
})

test('files, functions and lines have a size', () => {
  check({ 'tools/long.ts': lines(501) }, 'tools/long.ts:1: 501 lines: past 500')
  check({ 'tools/long.test.ts': `${lines(799)}assert(1)\n` })
  check({ 'tools/long.test.ts': `${lines(800)}assert(1)\n` }, 'tools/long.test.ts:1: 801 lines: past 800')
  check({ 'tools/wide.ts': `\n// ${'x'.repeat(118)}\n` }, 'tools/wide.ts:2: 121 characters')
  check({ 'tools/wide.ts': `\n// ${'x'.repeat(117)}\n` })
})

test('a function is long however it is written, and other blocks are no functions', () => {
  const long = [
    'export async function run(a: string): Promise<{ b: number }> {',
    'const run = async (a: number) => {',
    'test("x", async t => {',
    'export function run(\n  a: string,\n): asserts a is string {',
    'function run() {',
  ]
  for (const head of long) check({ 'tools/a.ts': `\n${head}\n${lines(69)}}\n` }, 'tools/a.ts:2: 7')
  const method = `class A {\n  async #run<T>(a: T): Promise<void> {\n${lines(70)}  }\n}\n`
  check({ 'tools/a.ts': method }, 'tools/a.ts:2: 72 lines: past 70')
  const other = [
    'export class A extends B(c) {',
    'interface A {',
    'type A = {',
    'const a = {',
    'const a: Record<string, B> = {',
    'if (a(b)) {',
    'for (const a of b()) {',
    'for await (const a of b) {',
    'switch (a) {',
    'return a ? b(c) : {',
    'call({',
    'try {',
  ]
  for (const head of other) check({ 'tools/a.ts': `${head}\n${lines(90)}}\n` })
  check({ 'tools/a.ts': `function run() {\n${lines(68)}}\n` })
  check({ 'tools/a.test.ts': `describe('a', () => {\n${lines(90)}  assert(1)\n})\n` })
  check({ 'tools/a.test.ts': `test('a', () => {\n${lines(97)}  assert(1)\n})\n` })
  check(
    { 'tools/a.test.ts': `test('a', () => {\n${lines(99)}  assert(1)\n})\n` },
    'tools/a.test.ts:1: 102 lines: past 100',
  )
})

test('a front door begins with a comment', () => {
  check({ 'src/base/heap.ts': 'export const heap = 1\n' }, 'src/base/heap.ts:1: a front door')
})

test('a test asserts something', () => {
  const silent = `import assert from 'node:assert'\n// assert.ok(1)\ntest('assert.ok(1)', () => run())\n`
  check({ 'src/base/heap.test.ts': silent }, 'src/base/heap.test.ts:1: asserts nothing')
  check({
    'src/base/heap.test.ts': silent.replace('import assert', 'import same').replace('run()', 'same.ok(1)'),
  })
  check({ 'src/base/heap.test.ts': `import '../../tests/heap.conformance.ts'\n` })
  const cases = `import { check } from './testdata/check.ts'\ntest('a', () => check())\n`
  check({
    'src/base/heap.test.ts': cases,
    'src/base/testdata/check.ts': `${usesAssert}\nexport const check = () => assert(1)\n`,
  })
  check(
    { 'src/base/heap.test.ts': cases, 'src/base/testdata/check.ts': 'export const check = () => 1\n' },
    'src/base/heap.test.ts:1: asserts nothing',
  )
})

test('names are kebab-case', () => {
  for (const name of ['camelCase.ts', 'Big/a.ts', 'snake_case.ts', 'a.spec.ts', 'a--b.ts']) {
    check({ [`tools/${name}`]: '' }, `tools/${name}:1: names of files`)
  }
})

test('prose: words about people are caught in comments and texts, not in code and in data of tests', () => {
  check(
    {
      'src/base/heap.ts': `/** What nobody reads. */\nexport const heap = 'Whoever asks'\nconst nobody = heap\n`,
    },
    'src/base/heap.ts:1: "nobody"',
    'src/base/heap.ts:2: "Whoever"',
  )
  const data = `import { heap } from './heap.ts'\n// For somebody.\nassert.ok(heap, 'nobody')\n`
  check({ 'src/base/heap.test.ts': `${usesAssert}\n${data}` }, 'src/base/heap.test.ts:3: "somebody"')
})

test('names that say nothing are caught, words that contain them are not', () => {
  const bad = [
    'class PodManager {}',
    'interface ManagerOfPods {}',
    'function podHelpers() {}',
    'type StoreImpl = 1',
    'class BaseStore {}',
    'interface StoreBase {}',
    'function utils() {}',
  ]
  for (const source of bad) check({ 'tools/a.ts': `\n${source}\n` }, 'tools/a.ts:2: ')
  const good = [
    'class ControllerManager {}',
    'type FieldManagerEntry = 1',
    'function decodeBase64() {}',
    'class Database {}',
    'type Utilization = 1',
    'function baseline() {}',
    'const text = "class PodManager"',
    'class Implicit {}',
  ]
  for (const source of good) check({ 'tools/a.ts': `\n${source}\n` })
  check({ 'tools/string-utils.ts': '' }, 'tools/string-utils.ts:1: ')
  check({ 'tools/controller-manager.ts': '' })
})

test('only platform/node makes a date of the present', () => {
  const heap = (source: string) => ({ 'src/base/heap.ts': `/** . */\nexport const heap = ${source}\n` })
  const bad = ['new Date()', 'new Date', 'new Date( )', 'Date()']
  for (const source of bad) check(heap(source), 'src/base/heap.ts:2: reads the clock')
  const good = ['new Date(0)', `new Date('2026')`, 'Date.parse(x)', '/* new Date() */ 1', 'toDate()']
  for (const source of good) check(heap(source))
  check({
    'src/platform/node/clock.ts': 'export const now = new Date()\n',
    ...used('src/platform/node.ts', `/** . */\nimport './node/clock.ts'\n`),
  })
})

test('no file tells on which machine it was written', () => {
  check({ 'README.md': '\nsee `/opt/builds/k8ts`\n' }, 'README.md:2: /opt/builds/ is of this machine')
  check(
    { 'README.md': 'https://packages.corp.example/npm' },
    'README.md:1: packages.corp.example is of this machine',
  )
  check({ 'README.md': 'https://my-packages.corp.example' })
  check(
    { 'package-lock.json': '{ "resolved": "https://mirror.example/yaml.tgz" }' },
    'package-lock.json:1: mirror.example is no public registry',
  )
  check({ '.npmrc': 'registry=http://localhost:4873/\n' }, '.npmrc:1: localhost:4873 is no public')
  check({ 'README.md': 'in ./opt/builds/ and src/opt/builds/' })
})

test('a machine is known by its own folders and hosts, not by those that every machine has', () => {
  const of = (root: string, registry?: string) => machineOf({ root, home: '/home/ann', registry })
  assert.deepEqual(of('/home/bob/code/k8ts/').folders, ['/home/bob/', '/home/ann/'])
  assert.deepEqual(of('/projects/k8ts/').folders, ['/projects/', '/home/ann/'])
  assert.deepEqual(of('/tmp/x/k8ts/').folders, ['/tmp/x/', '/home/ann/'])
  assert.deepEqual(of('/a/b', 'https://registry.npmjs.org/').hosts, [])
  assert.deepEqual(of('/a/b', 'http://mirror.example:8080/npm/').hosts, ['mirror.example:8080'])
})

/** Checks the findings of the rules on folders and files. */
function checkStructure(contents: Readonly<Record<string, string>>, ...expected: readonly string[]): void {
  const files = Object.entries(contents).map(([path, content]) => sourceFile(path, content))
  const found = [...checkFolders(files), ...checkTinyFiles(files)].map(({ path, text }) => `${path}: ${text}`)
  assert.deepEqual(found, expected)
}

test('a folder has two files, and a short file more than one importer', () => {
  const two = { 'src/store/store.ts': lines(50), 'src/store/memory.ts': lines(50) }
  checkStructure(two)
  const alone = 'src/store/embedded/log.ts: a folder has at least two files'
  checkStructure({ ...two, 'src/store/embedded/log.ts': lines(50) }, alone)
  checkStructure({ ...two, 'src/store/testdata/log.ts': lines(50) })
  const log = { ...two, 'src/store/log.ts': lines(40) }
  const imports = (path: string) => ({ [path]: `import './log.ts'\n${lines(50)}` })
  const advice = 'src/store/log.ts: only src/store/store.ts imports these few lines: move them there'
  checkStructure({ ...log, ...imports('src/store/store.ts') }, advice)
  checkStructure({ ...log, ...imports('src/store/store.ts'), ...imports('src/store/memory.ts') })
  checkStructure({ ...log, ...imports('src/store/store.ts'), 'src/store/log.ts': lines(41) })
  checkStructure({ ...log, ...imports('src/store/store.test.ts') })
})

test('a function has at most three parameters', () => {
  const heap = (text: string) => ({ 'src/base/heap.ts': `/** . */\n${text}\nexport const heap = 1\n` })
  const refused = 'src/base/heap.ts:2: 4 parameters: use an options object'
  check(heap('function f(a: A, b: B, c: C): void {}'))
  check(heap('function f(a: A, b: B, c: C, d: D): void {}'), refused)
  check(heap('function f<T, U>(a: A, b: Map<string, B>, c: (x: X, y: Y) => C): void {}'))
  check(heap('const f = (a: A, b: B, c: C, d: D) => 1'), refused)
  check(heap('class C {\n  #f(a: A, b: B, { c, d }: C, ...e: E[]) {}\n}'), refused.replace(':2:', ':3:'))
  check(heap('f(a, b, c, d)'))
  check(heap('for (const [a, b, c, d] of e) {}'))
})

test('blanking keeps code and positions, and nothing else', () => {
  const cases: [source: string, code: string][] = [
    [`a('b') // c`, `a(' ')     `],
    [`a /* 'b' */ + c`, `a           + c`],
    ['`a${b + `c${d}`}e` + f', '` ${b + ` ${d}`} ` + f'],
    ['`${{ a: 1 }}` + b', '`${{ a: 1 }}` + b'],
    [`a = /['"]/g.test(b)`, `a = /    /g.test(b)`],
    [`a / b / 'c'`, `a / b / ' '`],
    [`return /[/]'/`, `return /    /`],
    [`'it\\'s' + a`, `'     ' + a`],
    [`a // b\nc`, `a     \nc`],
  ]
  for (const [source, code] of cases) {
    const blanked = blankOut(source)
    assert.equal(blanked.length, source.length)
    assert.equal(blanked, code)
  }
})
