import { defineCommand } from '../../../command.ts'
import { dataFlags, parseLiteral, readEnvFile, readFileSource, statOf } from '../../../create/data-sources.ts'
import { createFlags, ObjectCreator, requireName } from '../../../create/object-creator.ts'
import { planSecret } from '../../../create/secret-data.ts'
import { stringFlag } from '../../../flag-types.ts'

export const command = defineCommand({
  usage:
    'generic NAME [--type=string] [--from-file=[key=]source] [--from-literal=key1=value1] ' +
    '[--dry-run=server|client|none]',
  description: `Creates a secret from files, folders and literal values.

The default of the key for a file is its name. Of a folder, each file whose name is a valid key gives an entry;
subfolders and symbolic links are skipped.`,
  examples: `  # All files of a folder
  kubectl create secret generic keys --from-file=path/to/folder

  # Files with other keys
  kubectl create secret generic keys --from-file=ssh-privatekey=path/to/id --from-file=ssh-publickey=path/to/id.pub

  # Literal values
  kubectl create secret generic login --from-literal=username=robot --from-literal=password=hush

  # Lines KEY=VALUE of a file
  kubectl create secret generic login --from-env-file=path/to/login.env`,
  flags: { ...createFlags, ...dataFlags, type: stringFlag('Type of the secret.') },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    const { flags, factory } = invocation
    const { 'from-env-file': envFiles = [], 'from-file': files = [], 'from-literal': literals = [] } = flags
    if (envFiles.length > 0 && files.length + literals.length > 0) {
      throw new Error('from-env-file cannot be combined with from-file or from-literal')
    }
    const entries = literals.map(parseLiteral)
    for (const source of files) entries.push(...(await readFileSource(factory.machine, source)))
    for (const path of envFiles) {
      const { isFolder } = await statOf(factory.machine, path)
      if (isFolder) throw new Error('env secret file cannot be a directory')
      entries.push(...(await readEnvFile(factory.machine, path)))
    }
    const { type = '', 'append-hash': appendHash } = flags
    await creator.create(planSecret(creator, { entries, type, appendHash }))
  },
})
