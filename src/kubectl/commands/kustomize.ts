import { join, resolve } from 'node:path'
import type { JsonObject } from '#/api/text/json-object.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { buildKustomization } from '#/kustomize/kustomize.ts'
import { defineCommand } from '../command.ts'
import { CommandUsageError } from '../errors.ts'
import { stringFlag } from '../flag-types.ts'
import { apiVersionText, kindText, metadataText } from '../resource/info.ts'

export const command = defineCommand({
  usage: 'kustomize DIR',
  description: `Builds the kustomization in a folder, and prints its objects.

Folders on this machine are supported; kustomizations at URLs, Helm charts and functions in containers are not.`,
  examples: `  # The objects of a kustomization
  kubectl kustomize overlays/production

  # Apply them
  kubectl apply -k overlays/production`,
  flags: {
    'load-restrictor': stringFlag(
      'LoadRestrictionsRootOnly refuses files outside the folder; LoadRestrictionsNone allows them.',
      { shownDefault: `'LoadRestrictionsRootOnly'` },
    ),
    'output': stringFlag('Write to this file, or to files of this folder.', { shorthand: 'o' }),
  },
  async run({ args, flags, factory, streams }) {
    if (args.length > 1) throw new CommandUsageError('specify one path to kustomization.yaml')
    const { platform, workingFolder } = factory.machine
    const loadRestrictor = flags['load-restrictor'] ?? 'LoadRestrictionsRootOnly'
    if (loadRestrictor !== 'LoadRestrictionsRootOnly' && loadRestrictor !== 'LoadRestrictionsNone') {
      const legal = '[LoadRestrictionsRootOnly LoadRestrictionsNone]'
      throw new Error(`illegal flag value --load-restrictor ${loadRestrictor}; legal values: ${legal}`)
    }
    const objects = await buildKustomization({
      files: platform.files,
      folder: resolve(workingFolder, args[0] ?? '.'),
      loadRestrictor,
      warn: message => streams.writeError(`${message}\n`),
    })
    if (!flags.output) return streams.write(documentsOf(objects))
    const output = resolve(workingFolder, flags.output)
    const isFolder = (await platform.files.stat(output))?.isFolder ?? false
    if (!isFolder) return platform.files.write(output, documentsOf(objects))
    for (const object of objects)
      await platform.files.write(join(output, fileName(object)), documentsOf([object]))
  },
})

function documentsOf(objects: readonly JsonObject[]): string {
  return objects.map(stringifyYaml).join('---\n')
}

/** `default_apps_v1_deployment_web.yaml`. */
function fileName(object: JsonObject): string {
  const namespace = metadataText(object, 'namespace') || 'default'
  const names = [
    namespace,
    apiVersionText(object).replace('/', '_'),
    kindText(object),
    metadataText(object, 'name'),
  ]
  return `${names.join('_').toLowerCase()}.yaml`
}
