import { resolve } from 'node:path'
import { defineCommand } from '../../../command.ts'
import { dataFlags } from '../../../create/data-sources.ts'
import { createFlags, ObjectCreator } from '../../../create/object-creator.ts'
import { planSecret } from '../../../create/secret-data.ts'
import { validateKeyPair } from '../../../create/validate-key-pair.ts'
import type { Factory } from '../../../factory.ts'
import { stringFlag } from '../../../flag-types.ts'

export const command = defineCommand({
  usage: 'tls NAME --cert=path/to/cert/file --key=path/to/key/file [--dry-run=server|client|none]',
  description: 'Creates a secret with a certificate and its private key. Both are PEM files and must match.',
  examples: `  # A certificate
  kubectl create secret tls certificate --cert=path/to/tls.crt --key=path/to/tls.key`,
  flags: {
    ...createFlags,
    'append-hash': dataFlags['append-hash'],
    'cert': stringFlag('Path of the certificate.'),
    'key': stringFlag('Path of the private key.'),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { 'append-hash': appendHash, cert = '', key = '' } = invocation.flags
    if (cert === '' || key === '') throw new Error('key and cert must be specified')
    const certificate = await readFile(invocation.factory, cert)
    const privateKey = await readFile(invocation.factory, key)
    validateKeyPair(certificate, privateKey)
    const entries = [
      { key: 'tls.crt', value: certificate },
      { key: 'tls.key', value: privateKey },
    ]
    await creator.create(planSecret(creator, { entries, type: 'kubernetes.io/tls', appendHash }))
  },
})

async function readFile({ machine }: Factory, path: string): Promise<Uint8Array> {
  const { files } = machine.platform
  const absolute = resolve(machine.workingFolder, path)
  const status = await files.stat(absolute)
  if (status?.isFile) return files.read(absolute)
  const reason = status === undefined ? 'no such file or directory' : 'not a file'
  throw new Error(`Cannot read file ${path}, open ${path}: ${reason}`)
}
