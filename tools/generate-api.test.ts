import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { keyed, set, type Overlay } from '#/api/kinds/overlay.ts'
import { generate, readPackage, writeGenerated } from './generate-api.ts'
import { overlays } from './generate-api/overlays.ts'

const source = readPackage()

test('a folder is written once, and again only when something is missing from it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'generate-api-'))
  try {
    assert.equal(writeGenerated(folder), true)
    const written = contents(folder)
    assert.ok(written.has('core/v1.ts') && written.has('definitions.json'))
    assert.equal(writeGenerated(folder), false)
    rmSync(join(folder, 'core/v1.ts'))
    writeFileSync(join(folder, 'core/v0.ts'), 'left over from an older version')
    assert.equal(writeGenerated(folder), true)
    assert.deepEqual(contents(folder), written)
    writeFileSync(join(folder, '.stamp'), 'of other inputs')
    assert.equal(writeGenerated(folder), true)
    assert.deepEqual(contents(folder), written)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('types are JSON, read-only, and optional where the API says so', () => {
  const files = generate(source, overlays)
  const check = (file: string, text: string): void => {
    assert.ok(files.get(file)?.includes(text), `${file}: ${text}`)
  }
  check('core/v1.ts', "readonly apiVersion?: 'v1'\n")
  check('core/v1.ts', "readonly kind?: 'PodList'\n")
  check('core/v1.ts', 'readonly containers: readonly Container[]\n')
  check('core/v1.ts', 'readonly targetPort?: number | string\n')
  check('core/v1.ts', 'readonly limits?: Readonly<Record<string, string>>\n')
  check('core/v1.ts', 'readonly terminationGracePeriodSeconds?: Int64\n')
  check('core/v1.ts', 'readonly lastTransitionTime?: string\n')
  check('apps/v1.ts', "readonly apiVersion?: 'apps/v1'\n")
  check('apps/v1.ts', 'readonly template: core.PodTemplateSpec\n')
  check('apiextensions/v1.ts', 'readonly items?: JSONSchemaProps | readonly JSONSchemaProps[]\n')
  check('apiextensions/v1.ts', "readonly 'x-kubernetes-preserve-unknown-fields'?: boolean\n")
  check(
    'public/core/v1.ts',
    "export type * from '../../core/v1.ts'\nexport * from '../../core/v1-resources.ts'\n",
  )
  check('public/meta/v1.ts', "export type * from '../../meta/v1.ts'\n")
  check('core/v1-resources.ts', 'export const configMaps: Resource<ConfigMap> =')
})

test('parameters of the query are told once, and apart where they mean something else', () => {
  const { common, patch, ...options } = source.parameters
  assert.deepEqual(common?.['limit']?.type, 'integer')
  assert.ok(common?.['pretty']?.documentation.startsWith("If 'true', then the output is pretty printed."))
  assert.deepEqual(Object.keys(patch ?? {}), ['fieldManager', 'force'])
  assert.deepEqual(Object.keys(options['pods/portforward'] ?? {}), ['ports'])
  assert.ok(options['services/proxy']?.['path']?.documentation.includes('_search?q=user:kimchy'))
  assert.ok(!('pretty' in (options['pods/log'] ?? {})))
})

test('an overlay that speaks of what does not exist or does not fit is refused', () => {
  const check = (core: Overlay, message: RegExp): void => {
    assert.throws(() => generate(source, { ...overlays, core: { ...overlays.core, ...core } }), message)
  }
  check({ merging: { 'Container.portz': keyed('name') } }, /Container\.portz, which does not exist/)
  check({ merging: { 'v2/Container.ports': keyed('name') } }, /v2\/Container\.ports, which does not exist/)
  check({ merging: { 'Container.ports': keyed('portName') } }, /do not have the key portName/)
  check({ merging: { 'Container.image': set } }, /Container\.image of core is not a list/)
  check({ quantities: ['PodSpec.priority'] }, /does not fit of PodSpec\.priority/)
  check({ atomic: ['Nothing'] }, /Nothing, which does not exist/)
  check({ atomic: ['PodSpec.containers'] }, /does not fit of PodSpec\.containers/)
  check({ granular: ['PodSpec.containers'] }, /does not fit/)
  check(
    { defaults: { 'ContainerPort.containerPort': '80' } },
    /ContainerPort\.containerPort of core does not/,
  )
  check({ defaults: { 'ContainerPort.protocol': 'ICMP' } }, /ContainerPort\.protocol of core does not fit/)
  check(
    { enumFields: { 'PodSpec.restartPolicy': 'Policy' } },
    /core\.Policy of PodSpec\.restartPolicy does not/,
  )
  check({ enumFields: { 'PodSpec.priority': 'RestartPolicy' } }, /does not fit of PodSpec\.priority/)
  check({ spacedSentences: ['Nothing.name'] }, /Nothing\.name, which does not exist/)
  check({ enumFields: {} }, /no field is a core\./)
  check({ types: { 'PodSpec.os': 'core.v1.Nothing' } }, /core\.v1\.Nothing of PodSpec\.os does not exist/)
  check({ definitions: { 'core.v1.Pod': 'struct' } }, /core\.v1\.Pod, which exists/)
  check({ unions: { SeccompProfile: { fields: { nothing: 'Nothing' } } } }, /SeccompProfile\.nothing/)
  check({ resources: { ...overlays.core?.resources, podz: {} } }, /resource podz, which does not exist/)
  check({ resources: {} }, /no overlay says which options/)
  const elsewhere = { ...overlays.core?.resources, events: { storedAs: { group: '', version: 'v2' } } }
  check({ resources: elsewhere }, /events are stored in \/v2, which does not exist/)
})

test('a type the package leaves open must be given', () => {
  assert.throws(
    () => generate(source, { ...overlays, apps: {} }),
    /no overlay says what apps\.v1\.ControllerRevision\.data is/,
  )
})

function contents(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => statSync(join(folder, file)).isFile())
    .sort()
  return new Map(files.map(file => [file, readFileSync(join(folder, file), 'utf8')]))
}
