import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import { contentVolumePlugin } from './content-volume-plugin.ts'
import {
  defaultFileMode,
  payloadOfKeys,
  type KeysRequest,
  type Payload,
  type PayloadFile,
} from './payload.ts'
import type { KeysOf, VolumeRequest } from './volume-plugin.ts'

export const configMap = contentVolumePlugin({
  kind: 'configmap',
  medium: '',
  collect: request => {
    const { name, items, optional, defaultMode } = request.volume.configMap ?? {}
    return configMapPayload(request, { name, items, optional, defaultMode })
  },
})

export async function configMapPayload(request: VolumeRequest, wanted: KeysOf): Promise<Payload> {
  const { name = '', items, optional = false, defaultMode = defaultFileMode } = wanted
  const found = await request.objects.configMap(request.pod.metadata.namespace, name, request.signal)
  if (found === undefined && !optional) throw new Error(`configmap ${quote(name)} not found`)
  return payloadOfKeys({
    items,
    data: dataOf(found ?? {}),
    defaultMode,
    isOptional: optional,
    missing: 'configmap references non-existent config key',
  })
}

function dataOf({ data = {}, binaryData = {} }: Pick<ConfigMap, 'data' | 'binaryData'>): KeysRequest['data'] {
  return new Map([...entries(data, 'utf8'), ...entries(binaryData, 'base64')])
}

function entries(
  data: Readonly<Record<string, string>>,
  encoding: PayloadFile['encoding'],
): readonly (readonly [string, Pick<PayloadFile, 'content' | 'encoding'>])[] {
  return Object.entries(data).map(([key, content]) => [key, { content, encoding }])
}
