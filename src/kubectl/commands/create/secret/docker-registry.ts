import { defineCommand } from '../../../command.ts'
import { dataFlags, readFileSource, type DataEntry } from '../../../create/data-sources.ts'
import { createFlags, ObjectCreator, requireName } from '../../../create/object-creator.ts'
import { planSecret } from '../../../create/secret-data.ts'
import { stringFlag } from '../../../flag-types.ts'
import { toCompactJson } from '../../../printers/object-printer.ts'

const configKey = '.dockerconfigjson'
const defaultServer = 'https://index.docker.io/v1/'

export const command = defineCommand({
  usage:
    'docker-registry NAME --docker-username=user --docker-password=password --docker-email=email ' +
    '[--docker-server=string] [--from-file=[key=]source] [--dry-run=server|client|none]',
  description: `Creates a secret with the credentials of a container registry.

Pods use it to pull images when their imagePullSecrets, or those of their service account, name it. The credentials are
given by flags or as a file in the format of ~/.docker/config.json.`,
  examples: `  # Credentials by flags
  kubectl create secret docker-registry registry --docker-server=registry.example.com \\
    --docker-username=robot --docker-password=hush --docker-email=robot@example.com

  # The credentials of the Docker client
  kubectl create secret docker-registry registry --from-file=.dockerconfigjson=path/to/.docker/config.json`,
  flags: {
    ...createFlags,
    'append-hash': dataFlags['append-hash'],
    'docker-email': stringFlag('Email address at the registry.'),
    'docker-password': stringFlag('Password at the registry.'),
    'docker-server': stringFlag('Address of the registry.', { shownDefault: `'${defaultServer}'` }),
    'docker-username': stringFlag('User at the registry.'),
    'from-file': dataFlags['from-file'],
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    const { flags, factory } = invocation
    const { 'append-hash': appendHash, 'from-file': files = [] } = flags
    const { 'docker-username': username = '', 'docker-password': password = '' } = flags
    const { 'docker-server': server = defaultServer, 'docker-email': email = '' } = flags
    if (files.length === 0 && [username, password, server].includes('')) {
      throw new Error(
        'either --from-file or the combination of --docker-username, --docker-password and --docker-server is required',
      )
    }
    const entries: DataEntry[] = []
    for (const source of files) {
      const keyed = source.includes('=') ? source : `${configKey}=${source}`
      entries.push(...(await readFileSource(factory.machine, keyed)))
    }
    if (files.length === 0) {
      const auth = Buffer.from(`${username}:${password}`).toString('base64')
      const login = { username, password, ...(email && { email }), auth }
      entries.push({ key: configKey, value: Buffer.from(toCompactJson({ auths: { [server]: login } })) })
    }
    await creator.create(planSecret(creator, { entries, type: 'kubernetes.io/dockerconfigjson', appendHash }))
  },
})
