import { isObject } from '#/api/text/json-object.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import { KustomizeError } from '../kustomize-error.ts'
import { parseKustomization } from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'
import type { Origin } from '../resources/origin.ts'
import { openApiSchemas } from '../transformers/merge-schema.ts'
import type { Build, Target } from './build.ts'

const fileNames = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'] as const

/** Reads the kustomization file of a folder. */
export async function openTarget(build: Build, loader: Loader, origin?: Origin): Promise<Target> {
  const found: { readonly name: string; readonly content: Uint8Array }[] = []
  for (const name of fileNames) {
    const content = await readIfThere(loader, name)
    if (content !== undefined) found.push({ name, content })
  }
  const [file, ...others] = found
  if (file === undefined) {
    const [yaml, yml, plain] = fileNames.map(name => `'${name}'`)
    throw new KustomizeError(
      `unable to find one of ${yaml}, ${yml} or ${plain} in directory '${loader.root}'`,
    )
  }
  if (others.length > 0)
    throw new KustomizeError(`Found multiple kustomization files under: ${loader.root}\n`)
  const kustomization = await parseKustomization(file.content, { folder: loader.root, warn: build.warn })
  return { build, loader, kustomization, fileName: file.name, origin }
}

/** The file may be missing or unreadable. */
async function readIfThere(loader: Loader, name: string): Promise<Uint8Array | undefined> {
  try {
    return await loader.read(name)
  } catch (error) {
    if (error instanceof KustomizeError) return undefined
    throw error
  }
}

/** The first OpenAPI document of a build replaces the schemas of Kubernetes. */
export async function loadSchemas({ build, loader, kustomization }: Target): Promise<void> {
  const { path, version } = kustomization.openapi ?? {}
  if (path === undefined) return
  const content = await loader.read(path)
  if (build.schemas !== undefined) return
  if (version !== undefined) {
    throw new KustomizeError('builtin version and custom schema provided, cannot use both')
  }
  const document = parseYaml(content)
  build.schemas = openApiSchemas(isObject(document) ? document : {})
}
