import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import type { Files } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { KustomizeError } from './kustomize-error.ts'
import { buildKustomization } from './kustomize.ts'
import { readCases, type KustomizeCase } from './test-cases.ts'

interface Result {
  readonly output: string
  readonly error: string
  readonly warnings: string
}

/** Builds the kustomization of a case whose files are in a folder. */
async function build(files: Files, root: string, { build, isUnrestricted }: KustomizeCase): Promise<Result> {
  const warnings: string[] = []
  try {
    const objects = await buildKustomization({
      files,
      folder: join(root, build),
      ...(isUnrestricted && { loadRestrictor: 'LoadRestrictionsNone' }),
      warn: message => void warnings.push(`${message}\n`),
    })
    const output = objects.map(object => stringifyYaml(object)).join('---\n')
    return { output, error: '', warnings: warnings.join('') }
  } catch (error) {
    assert.ok(error instanceof KustomizeError, String(error))
    return { output: '', error: error.message.trimEnd(), warnings: warnings.join('') }
  }
}

async function writeFiles(files: Files, root: string, contents: KustomizeCase['files']): Promise<void> {
  for (const [path, content] of contents) {
    await files.makeFolder(dirname(join(root, path)))
    await files.write(join(root, path), content)
  }
}

const realFiles = nodePlatform({ log: { level: 'error', format: 'text' } }).files

const linkPrefix = Buffer.from('link:')

function isLink(content: Uint8Array): boolean {
  return linkPrefix.equals(content.subarray(0, linkPrefix.length))
}

const cases = await readCases()
const linked = cases.filter(each => [...each.files.values()].some(content => isLink(content)))

describe('a kustomization is built as kubectl does', () => {
  for (const each of cases.filter(other => !linked.includes(other))) {
    test(`${each.name}: ${each.title}`, async () => {
      const simulation = new Simulation({ seed: 1 })
      const { files } = simulation.host('a')
      const { output, error, warnings } = each
      const run = async () => {
        await writeFiles(files, '/ROOT', each.files)
        return build(files, '/ROOT', each)
      }
      assert.deepEqual(await simulation.run(run()), { output, error, warnings })
    })
  }

  for (const each of linked) {
    test(`${each.name}: ${each.title}`, async t => {
      const root = await realFiles.realPath(await temporaryFolder(t))
      const isPlain = ([, content]: readonly [string, Uint8Array]) => !isLink(content)
      await writeFiles(realFiles, root, new Map([...each.files].filter(isPlain)))
      const linux = await nodeLinux()
      for (const [path, content] of each.files) {
        if (!isLink(content)) continue
        await linux.files.symlink(Buffer.from(content).toString().slice(5).trim(), join(root, path))
      }
      const { output, error, warnings } = await build(realFiles, root, each)
      const shown = { output, error: error.replaceAll(root, '/ROOT'), warnings }
      assert.deepEqual(shown, { output: each.output, error: each.error, warnings: each.warnings })
    })
  }
})

/** Builds a kustomization from its file and others. */
async function buildFiles(contents: Readonly<Record<string, string>>): Promise<Result> {
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('a')
  const bytes = new Map(Object.entries(contents).map(([path, text]) => [path, Buffer.from(text)]))
  const each = { name: '', title: '', files: bytes, build: '.', isUnrestricted: false }
  const run = async () => {
    await writeFiles(files, '/ROOT', bytes)
    return build(files, '/ROOT', { ...each, output: '', error: '', warnings: '' })
  }
  return simulation.run(run())
}

const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\n'

test('what needs the network or other programs is refused', async () => {
  const cases: Readonly<Record<string, RegExp>> = {
    'resources: ["https://example.com/a.yaml"]':
      /remote resource 'https:\/\/example.com\/a.yaml' is not supported/,
    'resources: ["github.com/example/repository//base?ref=v1"]': /remote resource '.*' is not supported/,
    'components: ["git@github.com:example/repository"]': /remote resource '.*' is not supported/,
    'configMapGenerator: [{name: a, files: ["a=http://example.com/"]}]':
      /remote resource '.*' is not supported/,
    'helmCharts: [{name: a}]': /^helm charts are not supported/,
    'helmChartInflationGenerator: [{chartName: a}]': /^helm charts are not supported/,
  }
  for (const [kustomization, expected] of Object.entries(cases)) {
    assert.match((await buildFiles({ 'kustomization.yaml': kustomization })).error, expected)
  }
})

test('input beyond a bound is refused', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const aliases = Array.from({ length: 20 }, (_, at) => `a${at}: &a${at} [${`*a${at - 1},`.repeat(9)}]`)
  const doubling = Array.from({ length: 60 }, () => ({
    source: { kind: 'Pod', fieldPath: 'spec' },
    targets: [
      { select: { kind: 'Pod' }, fieldPaths: ['spec.left', 'spec.right'], options: { create: true } },
    ],
  }))
  const text = 'x'.repeat(1_000)
  const variable = {
    name: 'X',
    objref: { kind: 'Pod', name: 'pod', apiVersion: 'v1' },
    fieldref: { fieldPath: 'spec.x' },
  }
  const cases: readonly [string, string, RegExp][] = [
    ['resources: [pod.yaml]', `${pod}spec: ${deep}\n`, /nested|depth|deep/],
    ['resources: [pod.yaml]', `${pod}spec: {"a": ${deep}}\n`, /nested|depth|deep/],
    ['resources: [pod.yaml]', `${pod}a0: &a0 [x]\n${aliases.slice(1).join('\n')}\n`, /excessive aliasing/],
    [
      JSON.stringify({ resources: ['pod.yaml'], replacements: doubling }),
      `${pod}spec: {x: y}\n`,
      /more than|nested/,
    ],
    [
      JSON.stringify({ resources: ['pod.yaml'], vars: [variable] }),
      `${pod}spec: {x: ${text}, containers: [{args: ["${'$(X)'.repeat(20_000)}"]}]}\n`,
      /values of variables in a text have more than/,
    ],
  ]
  for (const [kustomization, resources, expected] of cases) {
    const { error } = await buildFiles({ 'kustomization.yaml': kustomization, 'pod.yaml': resources })
    assert.match(error.slice(0, 2_000), expected)
  }
})

test('a patch cannot nest a resource without bound', async () => {
  const operations = Array.from({ length: 5_000 }, (_, at) => {
    return { op: 'add', path: `/spec${'/a'.repeat(at)}/a`, value: {} }
  })
  const kustomization = {
    resources: ['pod.yaml'],
    patches: [{ path: 'patch.json', target: { kind: 'Pod' } }],
  }
  const files = {
    'kustomization.yaml': JSON.stringify(kustomization),
    'pod.yaml': `${pod}spec: {}\n`,
    'patch.json': JSON.stringify(operations),
  }
  assert.match((await buildFiles(files)).error, /nested more than 1000 levels/)
})

test('keys of JavaScript objects are data', async () => {
  const files = {
    'kustomization.yaml': 'resources: [a.yaml]\npatches: [{path: a.yaml}]\ncommonLabels: {__proto__: a}\n',
    'a.yaml':
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {__proto__: x, constructor: y, "10": b, "9": a}\n',
  }
  const { output, error } = await buildFiles(files)
  assert.equal(error, '')
  assert.match(output, /data:\n {2}__proto__: x\n {2}"9": a\n {2}"10": b\n {2}constructor: "y"\n/)
  assert.match(output, /labels:\n {4}__proto__: a\n/)
})

test('names of validators that change resources are told', async () => {
  const validator = 'apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: v}\nlabels: {a: b}\n'
  const files = {
    'kustomization.yaml': 'resources: [pod.yaml]\nvalidators: [v.yaml]\n',
    'pod.yaml': pod,
    'v.yaml': `${validator}fieldSpecs: [{path: metadata/labels, create: true}]\n`,
  }
  assert.match((await buildFiles(files)).error, /^validator shouldn't modify the resource map: /)
})
