/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const node = `
Overhead: podFixed
RuntimeClass: metadata handler overhead? scheduling?
RuntimeClassList: metadata items
Scheduling: nodeSelector tolerations
`
