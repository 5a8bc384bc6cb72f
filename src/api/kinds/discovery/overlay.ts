/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { set, type Overlay } from '../overlay.ts'

export const discoveryOverlay: Overlay = {
  atomic: ['EndpointPort'],
  merging: { 'Endpoint.addresses': set },
  enums: {
    AddressType: ['FQDN', 'IPv4', 'IPv6'],
  },
  enumFields: {
    'EndpointPort.protocol': 'core.Protocol',
    'EndpointSlice.addressType': 'AddressType',
  },
  spacedSentences: ['Endpoint.deprecatedTopology'],
  fieldNumbers: `
Endpoint: addresses conditions hostname? targetRef? deprecatedTopology nodeName? zone? hints?
EndpointConditions: ready? serving? terminating?
EndpointHints: forZones forNodes
EndpointPort: name? protocol? port? appProtocol?
EndpointSlice: metadata endpoints! ports! addressType
EndpointSliceList: metadata items
ForNode: name
ForZone: name
`,
}
