/** Overlay and protobuf field numbers of the group. Imports no rules: the generator reads this file. */
import { set, type Overlay } from '../overlay.ts'

export const discoveryOverlay: Overlay = {
  atomic: ['EndpointPort'],
  merging: { 'Endpoint.addresses': set },
}

/** In the notation of `protobuf/field-numbers.ts`. */
export const discoveryFieldNumbers = `
Endpoint: addresses conditions hostname? targetRef? deprecatedTopology nodeName? zone? hints?
EndpointConditions: ready? serving? terminating?
EndpointHints: forZones forNodes
EndpointPort: name? protocol? port? appProtocol?
EndpointSlice: metadata endpoints! ports! addressType
EndpointSliceList: metadata items
ForNode: name
ForZone: name
`
