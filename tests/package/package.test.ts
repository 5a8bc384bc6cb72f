import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { installPackage, linkModule, packTree, runProgram } from '../../tools/upgrade/package.ts'
import { codeBlocks } from './code-blocks.ts'

/**
 * The package as its users get it: packed, unpacked below `node_modules` of another project, and used as in
 * these pages of the documentation. Nothing is downloaded: dependencies are linked.
 */
const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest
const folder = await mkdtemp(join(tmpdir(), 'k8ts-package-'))
after(() => rm(folder, { recursive: true }))
const project = join(folder, 'project')
const installed = join(project, 'node_modules/k8ts')
const nodeModules = join(root, 'node_modules')
const pages = ['docs/testing.md', 'docs/operators.md', 'docs/custom-resource-types.md']
const texts = await Promise.all(pages.map(page => readFile(join(root, page), 'utf8')))
const examples = codeBlocks(texts.join('\n'))
const packed = await pack()
await install()

test('the package has JavaScript and declarations, and no sources or tests', () => {
  assert.match(manifest.scripts['prepack'] ?? '', /tools\/build-package\.ts$/)
  const bundles = ['dist/kubectl.cjs', 'dist/kubectl-program.cjs', 'dist/console-page/index.html']
  const programs = ['k8ts', 'kubectl', ...bundles]
  for (const path of ['package.json', ...programs, 'dist/testing/testing.js', 'dist/testing/testing.d.ts']) {
    assert.ok(packed.includes(path), path)
  }
  const strange = packed.filter(path =>
    /(?<!\.d)\.ts$|\.test\.|\/testdata\/|^(?:src|tools|tests)\//.test(path),
  )
  assert.deepEqual(strange, [])
})

test('every entry of the package can be imported, and its types are sound', async () => {
  const names = Object.keys(manifest.exports).filter(name => !/\*|json$/.test(name))
  const modules = [
    ...names.map(name => name.replace('.', 'k8ts')),
    'k8ts/api/core/v1',
    'k8ts/api/autoscaling/v2',
    'k8ts/api/meta/v1',
  ]
  assert.ok(modules.length > 8)
  const lines = modules.map((name, index) => `export * as entry${index} from '${name}'\n`)
  await writeFile(join(project, 'entries.ts'), lines.join(''))
  await run('node', ['entries.ts'])
  await checkTypes(['entries.ts'], { skipLibCheck: false })
})

test('the examples of the documentation are sound TypeScript', async () => {
  assert.ok(examples.size >= 15)
  // Type declarations of other packages are not checked.
  await checkTypes([...examples.keys()], { skipLibCheck: true })
})

test('the examples of the documentation pass', async () => {
  const tests = [...examples.keys()].filter(name => name.endsWith('.test.ts'))
  const output = await run('node', ['--test', '--test-isolation=none', '--test-reporter=tap', ...tests])
  const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1])
  assert.ok(passed >= tests.length, output)
  assert.match(output, /^# fail 0$/m)
})

test('a definition of the documentation is generated, and its generated types are sound', async () => {
  const program = join(installed, 'k8ts')
  await run(program, ['generate', 'crd', 'bakeries.ts', '--out', 'bakeries.yaml'])
  const output = await run(program, ['generate', 'types', '--crd', 'bakeries.yaml', '--out', 'generated'])
  assert.equal(output, 'generated/example.com/v1.ts\n')
  const lines = [
    "import type { Bakery as Defined } from './bakeries.ts'",
    "import type { Bakery } from './generated/example.com/v1.ts'",
    'export const defined = (bakery: Bakery): Defined => bakery',
  ]
  await writeFile(join(project, 'bakery-types.ts'), lines.join('\n'))
  await checkTypes(['bakery-types.ts', 'generated/example.com/v1.ts'], { skipLibCheck: false })
})

test('the example operator uses only the package', async () => {
  const names = await readdir(join(root, 'examples/etcd-operator'), { recursive: true })
  const files = names.filter(name => name.endsWith('.ts'))
  assert.ok(files.length > 8)
  await cp(join(root, 'examples/etcd-operator'), join(project, 'etcd-operator'), { recursive: true })
  await checkTypes(
    files.map(name => join('etcd-operator', name)),
    { skipLibCheck: true },
  )
  const output = await run('node', ['--test', '--test-reporter=tap', 'etcd-operator/etcd-operator.test.ts'])
  assert.match(output, /^# pass 2$/m)
})

test('the program of the package runs', async () => {
  assert.match(await run(join(installed, 'k8ts'), ['version']), /^k8ts \d+\.\d+\.\d+ /)
})

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
}

/** Returns the paths in the package. */
async function pack(): Promise<readonly string[]> {
  await mkdir(project)
  const { archive, files } = await packTree(root, folder)
  await installPackage({ archive, project, nodeModules })
  return files
}

async function install(): Promise<void> {
  for (const name of ['@kubernetes/client-node', '@types/node'])
    await linkModule({ project, nodeModules, name })
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'project', type: 'module' }))
  for (const [name, code] of examples) await writeFile(join(project, name), code)
  assert.ok((await readdir(project)).length > examples.size)
}

async function checkTypes(
  files: readonly string[],
  options: { readonly skipLibCheck: boolean },
): Promise<void> {
  const compilerOptions = {
    target: 'esnext',
    lib: ['esnext'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node'],
    ...options,
  }
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  await run(join(root, 'node_modules/.bin/tsc'), ['-p', '.'])
}

function run(program: string, parameters: readonly string[]): Promise<string> {
  return runProgram(program, parameters, project)
}
