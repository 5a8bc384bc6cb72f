/** `k8ts generate` in a project that depends on k8ts: its output is compiled, and run against a cluster. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { Cluster } from '#/testing/testing.ts'
import { temporaryFolder } from './temporary-folder.ts'

const root = join(import.meta.dirname, '..')

const ovens = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ovens.bakery.example.com }
spec:
  group: bakery.example.com
  scope: Namespaced
  names: { kind: Oven, plural: ovens, singular: oven, listKind: OvenList }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          description: "An oven. It bakes */ bread."
          required: [spec]
          properties:
            apiVersion: { type: string }
            kind: { type: string }
            metadata: { type: object }
            spec:
              type: object
              required: [mode, port, trays]
              properties:
                mode: { type: string, enum: [Gas, Electric] }
                port: { x-kubernetes-int-or-string: true }
                trays: { type: integer, default: 2 }
                comment: { type: string, nullable: true }
                timers:
                  type: array
                  items: { type: object, required: [name], properties: { name: { type: string } } }
                limits: { type: object, additionalProperties: { type: integer } }
                template:
                  type: object
                  x-kubernetes-embedded-resource: true
                  x-kubernetes-preserve-unknown-fields: true
                dashed-field: { x-kubernetes-preserve-unknown-fields: true }
            status: { type: object, properties: { observedGeneration: { type: integer, format: int64 } } }
    - name: v1beta1
      served: true
      storage: false
      deprecated: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: skipped }
`

const ovenProgram = `
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { Cluster } from 'k8ts/testing'
import { ovens, type Oven, type OvenSpecTimer } from './generated/bakery.example.com/v1.ts'
import { ovens as oldOvens } from './generated/bakery.example.com/v1beta1.ts'

await using cluster = await Cluster.start()
const { client } = cluster
await cluster.apply(await readFile('ovens.yaml', 'utf8'))
await cluster.settle()
const at = { namespace: 'default', name: 'first' }
const timer: OvenSpecTimer = { name: 'a' }
const template = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { nodeName: 'n' } }
await client.create(ovens, {
  metadata: at,
  spec: { mode: 'Gas', port: 'http', comment: null, timers: [timer], limits: { a: 1 }, template },
})
const oven = await client.get(ovens, at)
const mode: 'Gas' | 'Electric' = oven.spec.mode
const port: number | string = oven.spec.port
const trays: number | undefined = oven.spec.trays
const name: string | undefined = oven.spec.timers?.[0]?.name
assert.deepEqual([mode, port, trays, name, oven.spec.comment], ['Gas', 'http', 2, 'a', null])
assert.deepEqual(oven.spec.template?.metadata, { name: 'p' })
const { status } = await client.updateStatus(ovens, { ...oven, status: { observedGeneration: 2n ** 60n } })
const observed: number | bigint | undefined = status?.observedGeneration
assert.equal(observed, 2n ** 60n)
const old = await client.get(oldOvens, at)
const spec: unknown = old['spec']
assert.ok(spec instanceof Object)

// @ts-expect-error not in the enum
const steam: Oven = { metadata: at, spec: { mode: 'Steam', port: 1 } }
// @ts-expect-error a required field is missing
const bare: Oven = { metadata: at, spec: { mode: 'Gas' } }
// @ts-expect-error not nullable
const nothing: Oven = { metadata: at, spec: { mode: 'Gas', port: null } }
// @ts-expect-error not a field
const other: Oven = { metadata: at, spec: { mode: 'Gas', port: 1, wheels: 4 } }
// @ts-expect-error the type of an embedded resource is required
const untyped: Oven = { metadata: at, spec: { mode: 'Gas', port: 1, template: {} } }
for (const invalid of [steam, bare, nothing, untyped]) {
  const created = client.create(ovens, { ...invalid, metadata: { ...at, name: 'invalid' } })
  await assert.rejects(created, { message: /is invalid/ })
}
assert.ok(other)
`

test('types of a definition compile, and a typed client uses them', async t => {
  const project = await startProject(t, { 'ovens.yaml': ovens, 'program.ts': ovenProgram })
  const parameters = ['generate', 'types', '--crd', 'ovens.yaml', '--out', 'generated']
  const { stdout } = await project.k8ts(parameters)
  const names = ['v1.ts', 'v1beta1.ts'].map(name => `generated/bakery.example.com/${name}`)
  assert.equal(stdout, `${names.join('\n')}\n`)
  await project.compile()
  await project.run('program.ts')
})

test('a cluster gives the same types as a manifest', async t => {
  const project = await startProject(t, { 'ovens.yaml': ovens })
  await project.k8ts(['generate', 'types', '--crd', '.', '--out', 'from-folder'])
  await using cluster = await Cluster.start({ clock: 'real' })
  await cluster.apply(ovens)
  const kubeconfig = await cluster.kubeconfig()
  const source = ['--cluster', '--kubeconfig', kubeconfig, '--group', 'bakery.example.com']
  await project.k8ts(['generate', 'types', ...source, '--out', 'from-cluster'])
  const name = 'bakery.example.com/v1.ts'
  const [folder = '', live = ''] = await Promise.all(
    ['from-folder', 'from-cluster'].map(each => readFile(join(project.folder, each, name), 'utf8')),
  )
  const withoutHeader = (text: string): string => text.slice(text.indexOf('\n'))
  assert.equal(withoutHeader(live), withoutHeader(folder))
  assert.match(live, /^\/\*\* Generated by k8ts generate types --cluster --group bakery\.example\.com;/)
})

const widgets = `
import { defineCustomResource, type Infer } from 'k8ts/custom-resource'
import * as s from 'k8ts/custom-resource/schema'

export const widgets = defineCustomResource({
  group: 'example.com',
  names: { kind: 'Widget', plural: 'widgets' },
  scope: 'Namespaced',
  versions: {
    v1: {
      subresources: { status: {} },
      schema: s.object({
        spec: s.object(
          {
            size: s.integer({ minimum: 1, default: 1, description: 'Number of parts.' }),
            color: s.string({ enum: ['Red', 'Green'] }),
            port: s.optional(s.intOrString({ nullable: true })),
            limits: s.optional(s.map(s.quantity())),
            parts: s.optional(s.array(s.object({ name: s.string() }), { listType: 'map', listMapKeys: ['name'] })),
            template: s.optional(s.embeddedResource()),
          },
          { validations: [{ rule: "self.color != 'Red' || self.size < 10", message: 'too large for red' }] },
        ),
        status: s.optional(s.object({ generation: s.optional(s.integer({ format: 'int64' })) })),
      }),
    },
  },
})
export type Widget = Infer<typeof widgets>
`

const widgetProgram = `
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { Cluster } from 'k8ts/testing'
import { widgets as generated, type Widget as GeneratedWidget } from './generated/example.com/v1.ts'
import { widgets, type Widget } from './widgets.ts'

await using cluster = await Cluster.start()
await cluster.apply(await readFile('crd.yaml', 'utf8'))
await cluster.settle()
const at = { namespace: 'default', name: 'first' }
await cluster.client.create(widgets, { metadata: at, spec: { color: 'Green' } })
// The types in both directions are the same.
const widget: Widget = await cluster.client.get(generated, at)
const same: GeneratedWidget = await cluster.client.get(widgets, at)
assert.deepEqual(widget, same)
assert.deepEqual(widget.spec, { color: 'Green', size: 1 })
const red = cluster.client.create(widgets, { metadata: { ...at, name: 'red' }, spec: { color: 'Red', size: 10 } })
await assert.rejects(red, { message: /too large for red/ })
`

test('a definition in TypeScript becomes a manifest, and its types the same types again', async t => {
  const project = await startProject(t, { 'widgets.ts': widgets, 'program.ts': widgetProgram })
  const { stdout } = await project.k8ts(['generate', 'crd', 'widgets.ts'])
  await project.k8ts(['generate', 'crd', 'widgets.ts', '--out', 'crd.yaml'])
  assert.equal(await readFile(join(project.folder, 'crd.yaml'), 'utf8'), stdout)
  await project.k8ts(['generate', 'types', '--crd', 'crd.yaml', '--out', 'generated'])
  await project.compile()
  await project.run('program.ts')
})

test('a definition that an API server would not accept is reported', async t => {
  const project = await startProject(t, {
    'rule.ts': widgets.replace('self.size < 10', 'self.weight < 10'),
    'keys.ts': widgets.replace('name: s.string()', 'name: s.optional(s.string())'),
    'empty.ts': 'export const widgets = 1\n',
    'other.yaml': 'kind: ConfigMap\n',
    'broken.yaml': 'kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\n',
  })
  const fails = async (parameters: readonly string[], message: RegExp, code = 1) => {
    await assert.rejects(project.k8ts(['generate', ...parameters]), error => {
      const { code: exitCode, stdout, stderr } = error as { code?: number; stdout?: string; stderr?: string }
      assert.deepEqual([exitCode, stdout], [code, ''])
      assert.match(stderr ?? '', message)
      return true
    })
  }
  await fails(['crd', 'rule.ts'], /widgets\.example\.com" is invalid: .*undefined field 'weight'/s)
  await fails(['crd', 'keys.ts'], /properties\[name\]\.default: Required value/)
  await fails(['crd', 'empty.ts'], /empty\.ts exports no result of defineCustomResource/)
  await fails(['types', '--crd', 'other.yaml'], /no CustomResourceDefinition found/)
  await fails(['types', '--crd', 'broken.yaml'], /broken\.yaml: CustomResourceDefinition "": spec\.group/)
  await fails(['types', '--crd', 'absent.yaml'], /absent\.yaml does not exist/)
  await fails(['types'], /use either --crd or --cluster\nSee k8ts generate --help/, 2)
  await fails(['crd'], /usage: k8ts generate crd FILE/, 2)
  await fails(['docs'], /usage: k8ts generate types\|crd/, 2)
})

test('each command has a help text with examples', async t => {
  const project = await startProject(t, {})
  for (const words of [[], ['types'], ['crd']]) {
    const { stdout } = await project.k8ts(['generate', ...words, '--help'])
    assert.match(stdout, /^Usage: k8ts generate .*\nExamples:\n {2}k8ts generate /s)
  }
})

interface Project {
  readonly folder: string
  readonly k8ts: (parameters: readonly string[]) => Promise<{ readonly stdout: string }>
  /** Checks the types of all files. */
  readonly compile: () => Promise<void>
  readonly run: (file: string) => Promise<void>
}

/** A project with a linked checkout of k8ts. */
async function startProject(t: TestContext, files: Readonly<Record<string, string>>): Promise<Project> {
  const folder = await temporaryFolder(t)
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  await symlink(root, join(modules, 'k8ts'))
  await symlink(join(root, 'node_modules/@types'), join(modules, '@types'))
  const compilerOptions = {
    target: 'esnext',
    lib: ['esnext'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    noEmit: true,
    types: ['node'],
    skipLibCheck: true,
    customConditions: ['k8ts-source'],
  }
  const settings = {
    'package.json': JSON.stringify({ name: 'project', type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts', 'generated'] }),
  }
  for (const [name, text] of Object.entries({ ...files, ...settings })) {
    await writeFile(join(folder, name), text)
  }
  const { NODE_TEST_CONTEXT: _context, ...environment } = process.env
  const env = { ...environment, PATH: `${dirname(process.execPath)}:${environment['PATH']}` }
  const start = async (program: string, parameters: readonly string[]) =>
    promisify(execFile)(program, [...parameters], { cwd: folder, env })
  return {
    folder,
    k8ts: parameters => start(join(root, 'k8ts'), parameters),
    compile: async () => {
      const compiled = await start(join(root, 'node_modules/.bin/tsc'), ['-p', '.']).catch(
        (error: unknown) => {
          return { stdout: (error as { readonly stdout: string }).stdout }
        },
      )
      assert.equal(compiled.stdout, '')
    },
    run: async file => {
      await start(process.execPath, ['--conditions=k8ts-source', file])
    },
  }
}
