import { quote } from '#/api/text/quote.ts'
import { contentVolumePlugin } from './content-volume-plugin.ts'
import { defaultFileMode, payloadOfKeys, type Payload } from './payload.ts'
import type { KeysOf, VolumeRequest } from './volume-plugin.ts'

export const secret = contentVolumePlugin({
  kind: 'secret',
  medium: 'Memory',
  collect: request => {
    const { secretName: name, items, optional, defaultMode } = request.volume.secret ?? {}
    return secretPayload(request, { name, items, optional, defaultMode })
  },
})

export async function secretPayload(request: VolumeRequest, wanted: KeysOf): Promise<Payload> {
  const { name = '', items, optional = false, defaultMode = defaultFileMode } = wanted
  const found = await request.objects.secret(request.pod.metadata.namespace, name, request.signal)
  if (found === undefined && !optional) throw new Error(`secret ${quote(name)} not found`)
  const data = Object.entries(found?.data ?? {})
  return payloadOfKeys({
    items,
    data: new Map(data.map(([key, content]) => [key, { content, encoding: 'base64' as const }])),
    defaultMode,
    isOptional: optional,
    missing: 'references non-existent secret key',
  })
}
