/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const discovery = `
Endpoint: addresses conditions hostname? targetRef? deprecatedTopology nodeName? zone? hints?
EndpointConditions: ready? serving? terminating?
EndpointHints: forZones forNodes
EndpointPort: name? protocol? port? appProtocol?
EndpointSlice: metadata endpoints! ports! addressType
EndpointSliceList: metadata items
ForNode: name
ForZone: name
`
