/**
 * Writes `src/api/generated`: the API's types, run-time definitions, documentation, protobuf field numbers,
 * parameters, table of resources and the public modules of the package, from the models of the npm package
 * `@kubernetes/client-node` and the overlays in `src/api/kinds`. Does nothing when neither these nor the
 * generator have changed since the last run.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { removedVersions } from '#/api/kinds/groups.ts'
import type { Overlays } from '#/api/kinds/overlay.ts'
import { applyOverlays, enumsOf } from './generate-api/apply-overlay.ts'
import { clientNodePackage } from './generate-api/client-node-package.ts'
import { buildDefinitions } from './generate-api/definitions.ts'
import { emitDefinitions, emitDocumentation } from './generate-api/emit-definitions.ts'
import { emitPublicModules } from './generate-api/emit-public.ts'
import { emitResourceConstants, emitResourceTable } from './generate-api/emit-resources.ts'
import { emitTypes } from './generate-api/emit-types.ts'
import { readModels, type Model } from './generate-api/models.ts'
import { nameDefinitions } from './generate-api/name-definitions.ts'
import { readOperations, type Operation } from './generate-api/operations.ts'
import { overlays } from './generate-api/overlays.ts'
import { readParameters, type ParameterGroups } from './generate-api/parameters.ts'
import { buildResources } from './generate-api/resources.ts'
import type { BuiltinRow } from '#/api/builtin.ts'

const root = join(import.meta.dirname, '..')
const packageFolder = clientNodePackage(root)

/** Folders and files that determine the output, in addition to the version of the package. */
const inputs = [
  'tools/generate-api.ts',
  'tools/generate-api',
  'src/api/kinds',
  'src/api/text/version-priority.ts',
]

/** The files in the kinds folder that the generator reads. */
const kindFiles = /\b(?:groups|overlay)\.ts$/

if (import.meta.main) {
  const folder = join(root, 'src/api/generated')
  console.log(writeGenerated(folder) ? 'generated src/api/generated' : 'src/api/generated is up to date')
}

/** Updates a folder; returns false when it was up to date. */
export function writeGenerated(folder: string): boolean {
  const stampFile = join(folder, '.stamp')
  const stamp = stampOf(inputs)
  if (existsSync(stampFile)) {
    const [written, ...files] = readFileSync(stampFile, 'utf8').split('\n')
    if (written === stamp && files.every(file => existsSync(join(folder, file)))) return false
  }
  const files = generate(readPackage(), overlays)
  // A partially written folder has no stamp and is written again.
  rmSync(stampFile, { force: true })
  removeOthers(folder, files)
  for (const [path, content] of files) writeWhole(join(folder, path), content)
  writeWhole(stampFile, [stamp, ...files.keys()].join('\n'))
  return true
}

/** The parsed content of the package. */
export interface PackageContents {
  readonly models: ReadonlyMap<string, Model>
  readonly operations: readonly Operation[]
  readonly parameters: ParameterGroups
}

export function readPackage(): PackageContents {
  return {
    models: readModels(join(packageFolder, 'dist/gen/models')),
    operations: readOperations(join(packageFolder, 'dist/gen/apis')),
    parameters: readParameters(join(packageFolder, 'dist/gen/apis')),
  }
}

/** Returns the generated files by path relative to their folder. */
export function generate(contents: PackageContents, overlays: Overlays): ReadonlyMap<string, string> {
  const { models, operations, parameters } = contents
  const names = nameDefinitions(models, operations)
  const definitions = applyOverlays(buildDefinitions(models, names), overlays)
  const rows = buildResources(operations, names, overlays)
  const modules = new Map([...emitTypes(definitions), ...emitResourceConstants(rows)])
  return new Map([
    [
      'definitions.json',
      emitDefinitions({ definitions, enums: enumsOf(overlays), kinds: sharedKinds(rows, overlays) }),
    ],
    ['documentation.json', emitDocumentation(definitions)],
    ['field-numbers.json', emitFieldNumbers(overlays)],
    ['parameters.json', `${JSON.stringify(parameters, undefined, 1)}\n`],
    ['resources.json', emitResourceTable(rows)],
    ...modules,
    ...emitPublicModules([...modules.keys()]),
  ])
}

/** Protobuf field numbers by package, in the notation of `src/api/protobuf/field-numbers.ts`. */
function emitFieldNumbers(overlays: Overlays): string {
  const notations = Object.entries(overlays).map(([name, { fieldNumbers = '' }]) => [name, fieldNumbers])
  return `${JSON.stringify(Object.fromEntries(notations), undefined, 1)}\n`
}

function sharedKinds(
  rows: readonly BuiltinRow[],
  overlays: Overlays,
): Readonly<Record<string, readonly string[]>> {
  const served = rows.map(({ group, version }) => (group === '' ? version : `${group}/${version}`))
  const everywhere = [...new Set([...served, ...removedVersions])].sort(byGroup)
  return Object.fromEntries(
    Object.entries(overlays.meta?.kinds ?? {}).map(([kind, where]) => [
      `meta.v1.${kind}`,
      where === 'every-group' ? everywhere : ['v1'],
    ]),
  )
}

/** The core group, which has no name, comes first. */
function byGroup(a: string, b: string): number {
  const [left, right] = [a, b].map(each => (each.includes('/') ? each : `/${each}`))
  return (left ?? '') < (right ?? '') ? -1 : 1
}

function stampOf(inputs: readonly string[]): string {
  const hash = createHash('sha256').update(readFileSync(join(packageFolder, 'package.json')))
  for (const input of inputs) {
    const path = join(root, input)
    const files = input.endsWith('.ts') ? [path] : filesBelow(path)
    for (const file of input === 'src/api/kinds' ? files.filter(each => kindFiles.test(each)) : files) {
      hash.update(`\n${file}\n`).update(readFileSync(file))
    }
  }
  return hash.digest('hex')
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}

function removeOthers(folder: string, files: ReadonlyMap<string, string>): void {
  if (!existsSync(folder)) return
  for (const file of filesBelow(folder)) if (!files.has(file.slice(folder.length + 1))) rmSync(file)
}

/** Writes atomically: readers see either the old or the new file. */
function writeWhole(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, content)
  renameSync(temporary, file)
}
