import java.util.Map;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/** Prints the wire schema of every version of the given API keys, as Kafka's own message classes describe it. */
public class DumpSchemas {
    public static void main(String[] keys) {
        for (String key : keys) {
            ApiMessageType api = ApiMessageType.fromApiKey(Short.parseShort(key));
            for (short version = api.lowestSupportedVersion(); version <= api.highestSupportedVersion(true); version++) {
                System.out.printf("== %s %s request v%d header%d%n", key, api.name, version, api.requestHeaderVersion(version));
                print(api.requestSchemas()[version], "  ");
                System.out.printf("== %s %s response v%d header%d%n", key, api.name, version, api.responseHeaderVersion(version));
                print(api.responseSchemas()[version], "  ");
            }
        }
    }

    private static void print(Schema schema, String indent) {
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields tagged) {
                System.out.println(indent + "_tags");
                for (Map.Entry<Integer, Field> entry : tagged.fields().entrySet()) print(entry.getValue(), indent, "tag" + entry.getKey() + " ");
            } else {
                print(bound.def, indent, "");
            }
        }
    }

    private static void print(Field field, String indent, String prefix) {
        Type element = field.type.arrayElementType().orElse(null);
        Type inner = element == null ? field.type : element;
        String of = element == null ? "" : "[" + (element instanceof Schema ? "struct" : name(element)) + "]";
        System.out.println(indent + prefix + field.name + ": " + name(field.type) + of);
        if (inner instanceof Schema schema) print(schema, indent + "  ");
    }

    private static String name(Type type) {
        if (type instanceof Schema) return type.isNullable() ? "NULLABLE_STRUCT" : "STRUCT";
        return type instanceof Type.DocumentedType documented ? documented.typeName() : type.toString();
    }
}
