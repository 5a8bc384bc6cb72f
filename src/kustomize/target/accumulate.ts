import { messageOf } from '#/base/message-of.ts'
import { MalformedYamlError, readObjects } from '../documents/read-documents.ts'
import { defaultConfiguration } from '../fields/default-configuration.ts'
import { emptyConfiguration, mergeConfigurations, type Configuration } from '../fields/configuration.ts'
import { inContext, KustomizeError, toKustomizeError } from '../kustomize-error.ts'
import { appendPath } from '../resources/origin.ts'
import { Resource } from '../resources/resource.ts'
import { ResourceList } from '../resources/resource-list.ts'
import type { Target } from './build.ts'
import { builtinGenerators, builtinTransformers } from './builtin-steps.ts'
import { loadConfigurations, loadCrds } from './load-configurations.ts'
import { loadSchemas, openTarget } from './open-target.ts'
import { loadPlugins } from './plugins.ts'
import { mergeVars, showVars, uniteVars, type Vars } from '../transformers/vars.ts'
import type { Var } from '../load/kustomization.ts'
import { runTransformers, runValidators } from './run-transformers.ts'

/**
 * Loads the resources of a kustomization and of those below it, generates and transforms them. A component
 * continues with the resources of the kustomization that uses it.
 */
export async function accumulateTarget(target: Target, into = new Accumulator()): Promise<Accumulator> {
  const { kustomization, loader } = target
  const accumulator = await inContext('accumulating resources', () =>
    accumulateResources(target, kustomization.resources ?? [], into),
  )
  const configured = await loadConfigurations(loader, kustomization.configurations ?? [])
  accumulator.addConfiguration(mergeConfigurations(defaultConfiguration, configured))
  accumulator.addConfiguration(await loadCrds(loader, kustomization.crds ?? []))
  await runGenerators(target, accumulator)
  const complete = await inContext('accumulating components', () => accumulateComponents(target, accumulator))
  const transformers = [
    ...(await builtinTransformers(target, complete.configuration)),
    ...(await loadPlugins(await pluginResources(target, kustomization.transformers ?? []), target)),
  ]
  await runTransformers(transformers, complete.resources)
  const validators = await loadPlugins(await pluginResources(target, kustomization.validators ?? []), target)
  await runValidators(validators, complete.resources)
  const { vars = [] } = kustomization
  await inContext(`merging vars ${showVars(vars)}`, () => complete.addVars(vars))
  return complete
}

async function runGenerators(target: Target, accumulator: Accumulator): Promise<void> {
  const external = await inContext('loading generator plugins', async () =>
    loadPlugins(await pluginResources(target, target.kustomization.generators ?? []), target),
  )
  for (const { run, origin, kind } of [...builtinGenerators(target), ...external]) {
    const generated = new ResourceList()
    await run(generated)
    for (const resource of generated) {
      resource.origin ??= origin
      await inContext(`merging from generator ${kind}`, () => accumulator.resources.absorb(resource))
    }
  }
}

/** A path is that of a file with resources, or of the folder of another kustomization. */
async function accumulateResources(
  target: Target,
  paths: readonly string[],
  into: Accumulator,
): Promise<Accumulator> {
  let accumulator = into
  for (const path of paths) {
    const failure = await accumulateFile(target, path, accumulator)
    if (failure === undefined) continue
    const loader = await target.loader.descend(path).catch((error: unknown) => {
      // A folder has no syntax errors.
      if (failure.cause instanceof MalformedYamlError) throw failure
      throw toKustomizeError(error, text => `accumulation err='${failure.message}': ${text}`)
    })
    accumulator = await inContext(`accumulation err='${failure.message}'`, () =>
      accumulateFolder({ target, loader, path, isComponent: false }, accumulator),
    )
  }
  return accumulator
}

/** Returns why the path is not that of a file with resources. */
async function accumulateFile(
  { loader, origin }: Target,
  path: string,
  { resources }: Accumulator,
): Promise<KustomizeError | undefined> {
  const fail = (what: string, error: unknown): KustomizeError => {
    const failure = toKustomizeError(error)
    if (!(failure instanceof KustomizeError)) throw error
    const place = error instanceof MalformedYamlError ? ` in File: ${path}` : ''
    return new KustomizeError(`${what} '${path}': ${messageOf(failure)}${place}`, { cause: error })
  }
  const loaded = new ResourceList()
  try {
    loaded.appendAll(readObjects(await loader.read(path)).map(object => new Resource(object)))
  } catch (error) {
    return fail('accumulating resources from', error)
  }
  if (origin !== undefined) for (const resource of loaded) resource.origin = appendPath(origin, path)
  try {
    resources.appendAll(loaded)
  } catch (error) {
    return fail('merging resources from', error)
  }
  return undefined
}

async function accumulateComponents(target: Target, into: Accumulator): Promise<Accumulator> {
  let accumulator = into
  for (const path of target.kustomization.components ?? []) {
    let loader
    try {
      loader = await target.loader.descend(path)
    } catch (error) {
      throw toKustomizeError(error, text => `loader.New ${JSON.stringify(text)}`)
    }
    try {
      accumulator = await accumulateFolder({ target, loader, path, isComponent: true }, accumulator)
    } catch (error) {
      throw toKustomizeError(error, text => `accumulateDirectory: ${JSON.stringify(text)}`)
    }
  }
  return accumulator
}

interface Folder {
  readonly target: Target
  readonly loader: Target['loader']
  readonly path: string
  readonly isComponent: boolean
}

async function accumulateFolder(
  { target, loader, path, isComponent }: Folder,
  into: Accumulator,
): Promise<Accumulator> {
  const origin = target.origin && appendPath(target.origin, path)
  const opened = await inContext(`couldn't make target for path '${loader.root}'`, () =>
    openTarget(target.build, loader, origin),
  )
  await loadSchemas(opened)
  const { kind } = opened.kustomization
  if (isComponent && kind !== 'Component') {
    throw new KustomizeError(`expected kind 'Component' for path '${loader.root}' but got '${kind}'`)
  }
  if (!isComponent && kind === 'Component') {
    throw new KustomizeError(`expected kind != 'Component' for path '${loader.root}'`)
  }
  const recursed = `recursed accumulation of path '${loader.root}'`
  const below = await inContext(recursed, () =>
    accumulateTarget(opened, isComponent ? into : new Accumulator()),
  )
  const accumulator = isComponent ? new Accumulator() : into
  await inContext(`recursed merging from path '${loader.root}'`, () => accumulator.merge(below))
  return accumulator
}

/** Resources that configure generators or transformers: inline, in files, or built from folders. */
async function pluginResources(target: Target, entries: readonly string[]): Promise<ResourceList> {
  const accumulator = new Accumulator()
  const paths: string[] = []
  for (const entry of entries) {
    const inline = readInline(entry)
    if (inline === undefined) {
      paths.push(entry)
      continue
    }
    for (const resource of inline) {
      resource.origin = target.origin && appendPath(target.origin, target.fileName)
    }
    accumulator.resources.appendAll(inline)
  }
  return (await accumulateResources(target, paths, accumulator)).resources
}

function readInline(entry: string): Resource[] | undefined {
  try {
    return readObjects(entry).map(object => new Resource(object))
  } catch (error) {
    if (toKustomizeError(error) instanceof KustomizeError) return undefined
    throw error
  }
}

/** The resources of a kustomization and those below it, with the rules by which their references are updated. */
class Accumulator {
  readonly resources = new ResourceList()
  #configuration: Configuration = emptyConfiguration
  #vars: Vars = new Map()

  get configuration(): Configuration {
    return this.#configuration
  }

  get vars(): Vars {
    return this.#vars
  }

  addConfiguration(configuration: Configuration): void {
    this.#configuration = mergeConfigurations(this.#configuration, configuration)
  }

  addVars(vars: readonly Var[]): void {
    this.#vars = mergeVars(this.#vars, vars, this.resources)
  }

  merge(other: Accumulator): void {
    this.resources.appendAll(other.resources)
    this.addConfiguration(other.configuration)
    this.#vars = uniteVars(this.#vars, other.vars)
  }
}
